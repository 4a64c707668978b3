;;; SPDX-License-Identifier: GPL-2.0
(define (hot n)
  (let loop ((i 0) (a 1))
    (if (= i n)
        a
        (loop (1+ i) (logand (+ (* a 31) (ash a -7) i) #xffffff)))))

(define (deep depth)
  (if (= depth 0) (hot 5000) (1+ (deep (1- depth)))))

(let loop ((round 1))
  ;; A callback, which the library calls
  (for-each deep '(30))
  (when (= round 3000)
    (display "ready\n")
    (force-output))
  (loop (1+ round)))
