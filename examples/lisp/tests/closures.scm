; Variables that are captured, assigned, shared and shadowed.
(define (make-counter)
  (let ((n 0))
    (lambda () (set! n (+ n 1)) n)))
(define a (make-counter))
(define b (make-counter))
(a) (a)
(print (a) " " (b) " " (a))

; Two closures over one variable.
(define (make-account balance)
  (cons (lambda (x) (set! balance (+ balance x)) balance)
        (lambda () balance)))
(define account (make-account 100))
((car account) 50)
(print ((cdr account)))

; Capture through several levels.
(define (add3 a) (lambda (b) (lambda (c) (+ a (* 10 b) (* 100 c)))))
(print (((add3 1) 2) 3))

; One closure for each turn of a loop, each with its own value.
(define adders (map (lambda (n) (lambda (x) (+ x n))) (iota 5)))
(print (map (lambda (f) (f 100)) adders))

; Shadowing, let, let*, letrec, named let, internal definitions.
(define x 'global)
(print (let ((x 1)) (let ((x (+ x 1)) (y x)) (list x y))) " " (let* ((x 1) (y (+ x 1))) (list x y)) " " x)
(print (letrec ((even? (lambda (n) (or (= n 0) (odd? (- n 1)))))
                (odd? (lambda (n) (and (> n 0) (even? (- n 1))))))
         (list (even? 100) (odd? 100))))
(define (sum-to n)
  (define total 0)
  (define (add! k) (set! total (+ total k)))
  (let loop ((i 1))
    (when (<= i n) (add! i) (loop (+ i 1))))
  total)
(print (sum-to 100))

; Rest parameters and apply.
(define (f a b . rest) (list a b rest))
(print (f 1 2) (f 1 2 3 4) ((lambda all all) 1 2 3))
(print (apply + '(1 2 3)) " " (apply + 1 2 '(3 4)) " " (apply f 1 '(2 3)) " " (apply max (iota 1000)))
(define (count . all) (length all))
(print (apply count (iota 20000)))

; A compose of many, and a Y combinator.
(define (compose . fs) (if (null? fs) (lambda (x) x) (lambda (x) ((car fs) ((apply compose (cdr fs)) x)))))
(print ((compose (lambda (x) (* x 2)) (lambda (x) (+ x 1)) abs) -20))
(print (((lambda (f) ((lambda (g) (g g)) (lambda (g) (f (lambda (n) ((g g) n))))))
         (lambda (self) (lambda (n) (if (= n 0) 1 (* n (self (- n 1)))))))
        10))
(print (let loop ((loop-count 3) (result '())) (if (= loop-count 0) result (loop (- loop-count 1) (cons loop-count result)))))
(print car " " sum-to " " (lambda (x) x))

; and, or, cond, case, when, unless, begin.
(print (and) (or) (and 1 2) (and 1 #f 2) (or #f 3) (or #f #f))
(print (map (lambda (n) (cond ((assv n '((1 . one) (2 . two))) => cdr) ((= n 3) 'three) (else 'many))) '(1 2 3 4)))
(print (map (lambda (n) (case n ((1 2 3) 'small) ((a b) 'letter) (else 'other))) '(2 a 9)))
(print (cond ((member 2 '(1 2 3))) (else 'no)) (when #f 1) (unless #f 1 2) (begin 1 2 3))
