; What the reader makes of a text.
(define (show text) (write (guard (e (#t (error-object-message e))) (eval-string (string-append "'" text)))) (newline))

(show "(a (b . c) () #(1 #(2)) \"d\\n\\\"e\\\"\" #\\f #\\space #\\( #t #f)")
(show "(1 -2 +3 1+ - ... -a 576460752303423487)")
(show "(quote 'a `(b ,c ,@d))")
(show "(a ; to the end of the line\n b)")
(show "(#;nothing a #;(b (c)) #; d e #;#;f g)")
(show "(a . b #;c)")
(show "#(#;a b #;c)")
(show "#;a b")

; Faults are told, wherever the text ends.
(for-each show '("(a" "(a . " "(a . b c)" "( . a)" "#(a" "\"a" "'" "#;" "(a #;" "#" "#\\" "#\\nothing" "#x" ")" "99999999999999999999"))

; Long and deep.
(define (repeat n text) (if (= n 0) "" (string-append text (repeat (- n 1) text))))
(print (length (eval-string (string-append "'(" (repeat 2000 "a ") ")"))))
(define (depth x) (if (pair? x) (+ 1 (depth (car x))) 0))
(print (depth (eval-string (string-append "'" (repeat 200 "(") "a" (repeat 200 ")")))))
(show (string-append (repeat 5000 "(") (repeat 5000 ")")))
