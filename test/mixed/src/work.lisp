;;; SPDX-License-Identifier: GPL-2.0
(defun hot (n)
  (let ((a 1))
    (declare (fixnum a))
    (dotimes (i n a)
      (setf a (logand (+ (* a 31) (ash a -7) i) #xffffff)))))

(defun deep (depth)
  (if (= depth 0) (hot 20000) (1+ (deep (1- depth)))))

(loop for round from 1
      do (deep 30)
         (when (= round 400)
           (write-line "ready")
           (finish-output)))
