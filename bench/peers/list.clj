;; The rows of bench/values_list.c with Clojure's vectors: persistent, 32-way, with transients and
;; boxed numbers.
;;
;;   java -cp clojure.jar:spec.alpha.jar:core.specs.alpha.jar clojure.main bench/peers/list.clj
(set! *unchecked-math* true)

(def ^:const n 1000000)
(def ^:const changes 100000)
(def ^:const cuts 20)
(def ^:const rounds 15) ; the first ones are there to be compiled

(defn report [what times run]
  (let [best (apply min (for [_ (range rounds)]
                          (let [begin (System/nanoTime)]
                            (run)
                            (- (System/nanoTime) begin))))
        each (/ (double best) times)]
    (println (format "  %-56s %9s %-13s" (str "Clojure vector: " what)
                     (format (if (< each 100) "%.1f" "%.0f") each) "ns"))))

(defn next-random ^long [^long seed]
  (let [a (bit-xor seed (unsigned-bit-shift-right seed 12))
        b (bit-xor a (bit-shift-left a 25))]
    (bit-xor b (unsigned-bit-shift-right b 27))))

(defn place ^long [^long random]
  (rem (unsigned-bit-shift-right (* random 0x2545f4914f6cdd1d) 1) n))

(defn append []
  (loop [v [] i 0] (if (< i n) (recur (conj v i) (inc i)) v)))

(defn build []
  (loop [v (transient []) i 0] (if (< i n) (recur (conj! v i) (inc i)) (persistent! v))))

(defn get-all [^clojure.lang.PersistentVector v]
  (loop [i 0 sum 0] (if (< i n) (recur (inc i) (+ sum (long (.nth v i)))) sum)))

(defn get-anywhere [^clojure.lang.PersistentVector v]
  (loop [i 0 sum 0 random 88172645463325252]
    (if (< i n) (recur (inc i) (+ sum (long (.nth v (place random)))) (next-random random)) sum)))

(defn iterate-all [^clojure.lang.PersistentVector v]
  (let [it (.iterator v)]
    (loop [sum 0] (if (.hasNext it) (recur (+ sum (long (.next it)))) sum))))

(defn reduce-all [v] (reduce (fn [^long a ^long b] (+ a b)) 0 v))

(defn set-anywhere [v]
  (loop [v v i 0 random 88172645463325252]
    (if (< i changes) (recur (assoc v (place random) i) (inc i) (next-random random)) v)))

(defn set-in-place [v]
  (loop [v (transient v) i 0 random 88172645463325252]
    (if (< i n) (recur (assoc! v (place random) i) (inc i) (next-random random)) (persistent! v))))

(defn cut-and-join [v]
  (loop [v v i 0 random 88172645463325252]
    (if (< i cuts)
      (let [at (place random)]
        (recur (into (subvec v at) (subvec v 0 at)) (inc i) (next-random random)))
      v)))

(let [v (append)]
  (report "append, persistent" n append)
  (report "append, transient" n build)
  (report "get, one after the other" n #(get-all v))
  (report "get, anywhere" n #(get-anywhere v))
  (report "iterate" n #(iterate-all v))
  (report "reduce" n #(reduce-all v))
  (report "set anywhere, persistent" changes #(set-anywhere v))
  (report "set anywhere, transient" n #(set-in-place v))
  (report "cut anywhere and join (subvec, into)" cuts #(cut-and-join v)))
(shutdown-agents)
