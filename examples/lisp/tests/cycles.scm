; What contains itself is printed once, with a label; what is only shared has none.
(define v (vector 1 2 3))
(vector-set! v 1 v)
(write v) (newline)
(display v) (newline)
(vector-set! v 2 v)
(write (list v v)) (newline)

; Through pairs: in the middle of a list, and at its end.
(define w (vector 0))
(vector-set! w 0 (list 'a w 'b))
(write w) (newline)
(write (vector-ref w 0)) (newline)
(define x (vector 'end))
(define tail (cons 2 (cons 3 x)))
(vector-set! x 0 tail)
(write (cons 1 tail)) (newline)

; Through atoms, conditions, and from one vector to another.
(define a (atom 0))
(reset! a (list a))
(write a) (newline)
(define p (vector 'p 0))
(define q (vector 'q p))
(vector-set! p 1 q)
(write (list p q)) (newline)
(define e (guard (e (#t e)) (error "a message" v)))
(vector-set! v 0 e)
(write e) (newline)
(print (guard (e (#t (error-object-message e))) (car v)))

; Shared, but no cycle: no label.
(define s (vector 1))
(write (list s s (vector s))) (newline)

; Two to the power of 40 values, and every one of them the same: the printer gives up in time.
(define (double n x) (if (= n 0) x (double (- n 1) (cons x x))))
(define (double-vector n x) (if (= n 0) x (double-vector (- n 1) (vector x x))))
(define path (string-append (getenv "LISP_TMP") "/large"))
(define (size-of x)
  (let ((port (open-output-file path)))
    (write x port)
    (close-port port)
    (let* ((port (open-input-file path)) (line (read-line port)))
      (close-port port)
      (string-length line))))
(print (< (size-of (double 40 'x)) 1000000) (< (size-of (double-vector 40 'x)) 1000000))

; Two cycles that look the same: asking whether they are equal is an error, and does not take for ever.
(define y (vector 1 2))
(define z (vector 1 2))
(vector-set! y 0 y)
(vector-set! z 0 z)
(print (equal? y y) (guard (e (#t (error-object-message e))) (equal? y z)))
