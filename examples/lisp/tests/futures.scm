; Structures that some threads build while others collect.
(define (tree depth) (if (= depth 0) '() (cons (tree (- depth 1)) (tree (- depth 1)))))
(define (nodes t) (if (null? t) 0 (+ 1 (nodes (car t)) (nodes (cdr t)))))

(print (touch (future (+ 1 2))) " " (touch (future 'a 'b)))
(define f (future (tree 4)))
(print (touch f) (eq? (touch f) (touch f)))

(define builders (map (lambda (i) (future (nodes (tree 10)))) (iota 4)))
(define collectors (map (lambda (i) (future (begin (gc) (gc) 'collected))) (iota 2)))
(print (map touch builders) (map touch collectors))

; Futures of futures: a parallel sum over a tree of threads.
(define (sum from to)
  (if (< (- to from) 100)
      (let loop ((i from) (s 0)) (if (= i to) s (loop (+ i 1) (+ s i))))
      (let* ((middle (quotient (+ from to) 2))
             (left (future (sum from middle)))
             (right (sum middle to)))
        (+ (touch left) right))))
(print (sum 0 2000))

; Futures within futures, each waiting for the next.
(define (nest n) (if (= n 0) 0 (+ 1 (touch (future (nest (- n 1)))))))
(print (nest 40))

; Many that wait for one, and one that is touched again after its end.
(define slow (future (nodes (tree 8))))
(print (map touch (map (lambda (i) (future (+ i (touch slow)))) (iota 8))) (touch slow))

; A shared vector, a slot for each thread; what they drop is garbage at once.
(define slots (make-vector 4 '()))
(define (churn i n) (when (> n 0) (vector-set! slots i (list i n (iota 10))) (churn i (- n 1))))
(for-each touch (map (lambda (i) (future (churn i 500))) (iota 4)))
(print slots)

; An error waits in the future until somebody touches it.
(define bad (future (car 'not-a-pair)))
(print (guard (e (#t (error-object-message e))) (touch bad)))
(print (guard (e (#t (error-object-message e))) (touch bad)))
(print (guard (e ((symbol? e) (list 'raised e))) (touch (future (raise 'oops)))))

; Names that are new in several threads at once are still one symbol.
(define (make-names) (map (lambda (i) (string->symbol (string-append "name-" (number->string i)))) (iota 200)))
(define all (map touch (map (lambda (i) (future (make-names))) (iota 4))))
(print (every (lambda (names) (every (lambda (pair) (eq? (car pair) (cdr pair))) (map cons names (car all)))) all))

; Nobody waits for these; the program ends after them.
(define unattended (map (lambda (i) (future (nodes (tree 6)))) (iota 8)))
(print 'end)
