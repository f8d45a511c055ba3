import { seeded } from '../support/seeded.mjs'

// A stack machine: one big switch in a loop
function execute(code, limit) {
  var stack = [], memory = {}, output = [], at = 0, steps = 0;
  run: do {
    var instruction = code[at++];
    switch (instruction[0]) {
      case 'push': stack.push(instruction[1]); break;
      case 'add': stack.push(stack.pop() + stack.pop()); break;
      case 'multiply': {
        const right = stack.pop();
        stack.push(Math.imul(stack.pop(), right));
        break;
      }
      case 'less': { let right = stack.pop(); stack.push(+(stack.pop() < right)); } break;
      case 'load': stack.push(memory[instruction[1]] | 0); break;
      case 'store': memory[instruction[1]] = stack.pop(); break;
      case 'print': output.push(stack.pop()); break;
      case 'unless': if (stack.pop()) break;
      // falls through
      case 'jump': at = instruction[1]; continue run;
      case 'halt': break run;
      default: throw new TypeError('unknown instruction ' + instruction[0]);
    }
  } while (++steps < limit && at < code.length);
  return { output: output, memory: memory, steps: steps };
}

/** for (i = 0; i < size; i++) { sum = sum * 3 + i; if (i is a multiple of size / 4) print sum } */
function inputs(size) {
  const random = seeded(31)
  const noise = Array.from({ length: 5 }, () => [['push', random.integer(-9, 9)], ['store', 'x']]).flat()
  const code = [
    ...noise, ['push', 0], ['store', 'i'],
    ['load', 'i'], ['push', size], ['less'], ['unless', 0],
    ['load', 'sum'], ['push', 3], ['multiply'], ['load', 'i'], ['add'], ['store', 'sum'],
    ['load', 'i'], ['push', 1], ['add'], ['store', 'i'],
    ['jump', noise.length + 2],
    ['load', 'sum'], ['print'], [size % 2 ? 'stop' : 'halt']
  ]
  code[noise.length + 5][1] = code.length - 3
  return [code, 1e9]
}

export default {
  name: 'stack machine',
  kind: 'loop',
  fn: execute,
  inputs,
  sizes: [0, 1, 2, 50],
  benchSize: 20_000
}
