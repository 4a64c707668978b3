// SPDX-License-Identifier: GPL-2.0
import javax.tools.ToolProvider;

/** javac in a thread "worker", which compiles a file again and again: interpreted at first. */
public class Compile {
    public static void main(String[] args) {
        new Thread(() -> {
            System.out.println("ready");
            while (true) {
                ToolProvider.getSystemJavaCompiler().run(null, null, null, args);
            }
        }, "worker").start();
    }
}
