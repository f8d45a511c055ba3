import { integers } from './inputs.mjs'

function quicksort(list, low, high) {
  if (low >= high) return list;
  var pivot = list[(low + high) >> 1];
  var i = low - 1, j = high + 1;
  for (;;) {
    do i++; while (list[i] < pivot)
    do j--; while (list[j] > pivot)
    if (i >= j) break;
    var swapped = list[i];
    list[i] = list[j];
    list[j] = swapped;
  }
  quicksort(list, low, j);
  quicksort(list, j + 1, high);
  return list;
}

export default {
  name: 'quicksort',
  kind: 'recursive',
  fn: quicksort,
  inputs: size => [integers(size, size * 4), 0, size - 1],
  sizes: [0, 1, 2, 300],
  benchSize: 30_000
}
