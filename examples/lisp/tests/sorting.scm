(define (random-list n seed)
  (let loop ((i 0) (x seed) (result '()))
    (if (= i n) result (loop (+ i 1) (modulo (* x 48271) 2147483647) (cons (modulo x 1000) result)))))

(define (sorted? list less?)
  (or (null? list) (null? (cdr list)) (and (not (less? (cadr list) (car list))) (sorted? (cdr list) less?))))

(define (quicksort list)
  (if (null? list)
      '()
      (let ((pivot (car list)))
        (append (quicksort (filter (lambda (x) (< x pivot)) (cdr list)))
                (cons pivot (quicksort (filter (lambda (x) (>= x pivot)) (cdr list))))))))

(define (insert x list) (if (or (null? list) (< x (car list))) (cons x list) (cons (car list) (insert x (cdr list)))))
(define (insertion-sort list) (fold-left (lambda (sorted x) (insert x sorted)) '() list))

(define numbers (random-list 400 42))
(print (quicksort (random-list 20 7)))
(print (sorted? (quicksort numbers) <) (equal? (quicksort numbers) (sort numbers <)) (equal? (insertion-sort numbers) (sort numbers <)))
(print (sort #(5 3 9 1) >) (sort '() <) (sort '(1) <) (sort '("pear" "fig" "apple") string<?))

; What is equal stays in its order.
(define pairs (map (lambda (i) (cons (modulo (* i 7) 4) i)) (iota 12)))
(print (sort pairs (lambda (a b) (< (car a) (car b)))))

(define before '(3 1 2))
(sort before <)
(print before)
(print (guard (e (#t (error-object-message e))) (sort '(3 a 2) <)))
