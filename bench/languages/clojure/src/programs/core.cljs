(ns programs.core)

(defn pairs [n] (for [i (range n) j (range (inc i) n)] [i j]))
(def all-pairs (vec (pairs 5)))

(def start
  [{:x 0.0 :y 0.0 :z 0.0 :vx 0.0 :vy 0.0 :vz 0.0 :mass 39.47}
   {:x 4.84 :y -1.16 :z -0.10 :vx 0.6 :vy 2.81 :vz -0.02 :mass 0.037}
   {:x 8.34 :y 4.12 :z -0.4 :vx -1.01 :vy 1.82 :vz 0.008 :mass 0.011}
   {:x 12.89 :y -15.11 :z -0.22 :vx 1.08 :vy 0.868 :vz -0.01 :mass 0.0017}
   {:x 15.37 :y -25.9 :z 0.179 :vx 0.979 :vy 0.594 :vz -0.034 :mass 0.002}])

(defn push [bodies [i j] dt]
  (let [a (nth bodies i) b (nth bodies j)
        dx (- (:x a) (:x b)) dy (- (:y a) (:y b)) dz (- (:z a) (:z b))
        d2 (+ (* dx dx) (* dy dy) (* dz dz))
        mag (/ dt (* d2 (js/Math.sqrt d2)))
        move (fn [body m s] (-> body
                             (update :vx + (* s dx m mag))
                             (update :vy + (* s dy m mag))
                             (update :vz + (* s dz m mag))))]
    (assoc bodies i (move a (:mass b) -1) j (move b (:mass a) 1))))

(defn advance [bodies dt]
  (mapv (fn [b] (-> b (update :x + (* dt (:vx b))) (update :y + (* dt (:vy b))) (update :z + (* dt (:vz b)))))
        (reduce (fn [bs p] (push bs p dt)) bodies all-pairs)))

(defn ^:export nbody [n] (:x (first (nth (iterate #(advance % 0.01) start) n))))

(defn ^:export words [n]
  (let [counts (frequencies (map #(str "w" (mod (* % 7919) 997)) (range n)))]
    (+ (count counts) (reduce + (map second (take 10 (sort-by (comp - second) counts)))))))

(defn ^:export queens [n]
  (letfn [(safe? [placed c] (every? true? (map-indexed (fn [i p] (and (not= p c) (not= (Math/abs (- p c)) (inc i)))) placed)))
          (place [row placed] (if (= row n) 1 (reduce + (map #(place (inc row) (cons % placed)) (filter #(safe? placed %) (range n))))))]
    (place 0 ())))

(defn ^:export primes [n] (reduce + (take n (filter (fn [k] (every? #(pos? (mod k %)) (take-while #(<= (* % %) k) (range 2 k)))) (iterate inc 2)))))

