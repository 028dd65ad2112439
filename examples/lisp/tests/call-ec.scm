(print (call/ec (lambda (return) (+ 1 (return 42)))))
(print (call/ec (lambda (return) 7)))
(print (+ 1 (call/ec (lambda (k) (for-each (lambda (x) (when (> x 3) (k x))) '(1 2 3 4 5)) 'none))))

; Out of deep recursion, again and again.
(define (find-deep n found) (if (= n 0) (found 'bottom) (+ 1 (find-deep (- n 1) found))))
(define (repeat n thunk) (if (= n 1) (thunk) (begin (thunk) (repeat (- n 1) thunk))))
(print (repeat 20 (lambda () (call/ec (lambda (k) (find-deep 10000 k))))))

; The outer of two, through the inner.
(print (call/ec (lambda (outer) (call/ec (lambda (inner) (outer 'outer))) 'not-here)))
(print (call/ec (lambda (outer) (list 'inner-gave (call/ec (lambda (inner) (inner 'inner)))))))

; Through a C function that calls back: sort.
(print (call/ec (lambda (k) (sort '(3 1 2) (lambda (a b) (k (list 'compared a b)))))))
(print (sort '(3 1 2) <))
(print (call/ec (lambda (k) (eval (list 'quote (list 1 2 (k 'out-of-eval)))))))

; After its extent, and on another thread.
(define kept #f)
(call/ec (lambda (k) (set! kept k)))
(print (guard (e (#t (error-object-message e))) (kept 1)))
(print (call/ec (lambda (k) (guard (e (#t (list 'in-future (error-object-message e)))) (touch (future (k 1)))))))

; A generator of sorts: the first that fits.
(define (first-that p list) (call/ec (lambda (return) (for-each (lambda (x) (if (p x) (return x))) list) #f)))
(print (first-that even? '(1 3 4 5)) (first-that even? '(1 3 5)))

; Escapes and handlers together: what was inside is gone, what was outside still works.
(print (guard (e (#t (list 'caught e)))
         (call/ec (lambda (k) (guard (e (#t 'wrong)) (k 1))))
         (raise 'outer)))
(print (call/ec (lambda (k) (guard (e (#t (k (list 'from-handler e)))) (raise 'x)))))
