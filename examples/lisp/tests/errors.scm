; What goes wrong says what, and with what.
(define (try thunk)
  (guard (e ((error-object? e) (display (error-object-message e)) (display " ") (write (error-object-irritants e)) (newline))
            (else (display "raised ") (write e) (newline)))
    (write (thunk))
    (newline)))

(try (lambda () (error "my message" 1 "two" 'three)))
(try (lambda () (raise 'a-symbol)))
(try (lambda () (raise (list 1 2))))
(try (lambda () (car '())))
(try (lambda () (cdr "x")))
(try (lambda () undefined-variable))
(try (lambda () (set! undefined-variable 1)))
(try (lambda () (5 5)))
(try (lambda () ((lambda (x) x))))
(try (lambda () ((lambda (x . rest) x))))
(try (lambda () (car 1 2)))
(try (lambda () (cons 1)))
(try (lambda () (vector-ref (vector 1 2) 2)))
(try (lambda () (string-append "a" 'b)))
(try (lambda () (letrec ((a b) (b 1)) a)))
(try (lambda () (length '(1 2 . 3))))
(try (lambda () (assert (= 1 2))))
(try (lambda () (assert (= 1 2) "not equal" 1 2)))
(try (lambda () (apply car '(1 2))))
(try (lambda () (open-input-file "/no/such/file")))

; Errors of the compiler and the reader.
(try (lambda () (eval '(if))))
(try (lambda () (eval '(let ((x)) x))))
(try (lambda () (eval '(lambda (1) 1))))
(try (lambda () (eval '(f . x))))
(try (lambda () (eval '(cond (else)))))
(try (lambda () (eval-string "(1 2")))
(try (lambda () (eval-string ")")))
(try (lambda () (eval-string "\"abc")))
(try (lambda () (eval-string "(+ 1 2) (+ 3 4)")))

; A handler that is left by a value, by an error, and one that does not want it.
(print (guard (e (#f 'never) ((string? e) (string-append "got " e))) (raise "it")))
(print (guard (outer (#t (list 'outer outer))) (guard (inner ((number? inner) 'number)) (raise 'not-a-number))))
(print (guard (outer (#t (list 'outer outer))) (guard (inner (#t (raise (list 'again inner)))) (raise 'first))))
(print (guard (e ((assq 'a e) => cdr) ((assq 'b e))) (raise (list (cons 'a 42)))))
(print (guard (e ((assq 'a e) => cdr) ((assq 'b e))) (raise (list (cons 'b 23)))))
(print (catch (lambda () (+ 1 (raise 5))) (lambda (e) (* e 2))))

; In deep recursion, and a thousand times over.
(define (deep n) (if (= n 0) (error "at the bottom") (+ 1 (deep (- n 1)))))
(print (guard (e (#t (error-object-message e))) (deep 20000)))
(define (again n) (if (= n 0) 'survived (begin (guard (e (#t e)) (error "x" n)) (again (- n 1)))))
(print (again 1000))

; Nobody catches this one, so the interpreter
; exits with 1
(car 'uncaught)
(print "not reached")
