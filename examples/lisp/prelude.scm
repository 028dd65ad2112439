; The part of the library that is written in the language itself.

(define (apply f . arguments) (%apply f (%spread arguments)))
(define (catch thunk handler) (%catch thunk handler))
(define call-with-escape-continuation call/ec)

; ---- numbers

(define (zero? n) (= n 0))
(define (positive? n) (> n 0))
(define (negative? n) (< n 0))
(define (even? n) (= (remainder n 2) 0))
(define (odd? n) (not (even? n)))
(define (abs n) (if (< n 0) (- n) n))
(define (min a . rest) (fold-left (lambda (a b) (if (< b a) b a)) a rest))
(define (max a . rest) (fold-left (lambda (a b) (if (> b a) b a)) a rest))
(define (gcd a b) (if (= b 0) (abs a) (gcd b (remainder a b))))
(define (expt base n)
  (cond ((= n 0) 1)
        ((even? n) (expt (* base base) (quotient n 2)))
        (else (* base (expt base (- n 1))))))

; ---- lists

(define (list? x)
  (or (null? x) (and (pair? x) (list? (cdr x)))))

(define (list-ref list n) (car (list-tail list n)))

(define (fold-left f start list)
  (if (null? list) start (fold-left f (f start (car list)) (cdr list))))

(define (fold-right f start list)
  (let loop ((rest (reverse list)) (result start))
    (if (null? rest) result (loop (cdr rest) (f (car rest) result)))))

(define (reduce f start list)
  (if (null? list) start (fold-left f (car list) (cdr list))))

(define (map f list . lists)
  (if (null? lists)
      (let loop ((rest list) (result '()))
        (if (null? rest) (reverse result) (loop (cdr rest) (cons (f (car rest)) result))))
      (let loop ((all (cons list lists)) (result '()))
        (if (any null? all)
            (reverse result)
            (loop (map cdr all) (cons (apply f (map car all)) result))))))

(define (for-each f list . lists)
  (if (null? lists)
      (let loop ((rest list))
        (unless (null? rest) (f (car rest)) (loop (cdr rest))))
      (apply map f list lists))
  #t)

(define (filter keep? list)
  (let loop ((rest list) (result '()))
    (cond ((null? rest) (reverse result))
          ((keep? (car rest)) (loop (cdr rest) (cons (car rest) result)))
          (else (loop (cdr rest) result)))))

(define (remove drop? list) (filter (lambda (x) (not (drop? x))) list))
(define (delete x list) (remove (lambda (y) (equal? x y)) list))

(define (any p list) (and (pair? list) (or (p (car list)) (any p (cdr list)))))
(define (every p list) (or (null? list) (and (p (car list)) (every p (cdr list)))))

(define (iota n)
  (let loop ((i (- n 1)) (result '()))
    (if (< i 0) result (loop (- i 1) (cons i result)))))

(define (last list) (if (null? (cdr list)) (car list) (last (cdr list))))

; ---- vectors

(define (vector-fill! v x)
  (let loop ((i 0))
    (when (< i (vector-length v)) (vector-set! v i x) (loop (+ i 1)))))

(define (vector-map f v) (list->vector (map f (vector->list v))))
(define (vector-for-each f v) (for-each f (vector->list v)))

; ---- strings

(define (string . characters) (list->string characters))
(define (string-upcase s) (list->string (map char-upcase (string->list s))))
(define (number? x) (integer? x))

(define (string-join strings between)
  (if (null? strings)
      ""
      (apply string-append (car strings)
             (fold-right (lambda (s rest) (cons between (cons s rest))) '() (cdr strings)))))

(define (string-split s between)
  (let loop ((from 0) (result '()))
    (let ((at (string-search between s from)))
      (if at
          (loop (+ at (string-length between)) (cons (substring s from at) result))
          (reverse (cons (substring s from) result))))))

; ---- atoms, errors

(define (swap! a f . arguments)
  (let* ((old (deref a))
         (new (apply f old arguments)))
    (if (compare-and-set! a old new) new (apply swap! a f arguments))))

(define (assert what . message)
  (unless what (apply error (if (null? message) '("assertion failed") message))))

(define (print . things)
  (for-each display things)
  (newline))
