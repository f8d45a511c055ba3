import { program } from './inputs.mjs'

function lexCharacters(text) {
  var tokens = [];
  var keywords = new Set(['let', 'if', 'else', 'while', 'return']);
  var line = 1;
  var i = 0;
  var isDigit = function (c) { return c >= '0' && c <= '9'; };
  var isLetter = function (c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c === '_' || c === '$';
  };

  next: while (i < text.length) {
    var start = i, c = text[i++], type = 'operator';
    switch (c) {
      case '\n':
        line++;
        // falls through
      case ' ': case '\t': case '\r':
        continue next;
      case '"':
      case "'":
        for (;;) {
          if (i >= text.length) throw new SyntaxError('line ' + line + ': unterminated string');
          if (text[i] === '\\') i += 2;
          else if (text[i++] === c) break;
        }
        type = 'string';
        break;
      case '/':
        if (text[i] === '/') {
          while (i < text.length && text[i] !== '\n') i++;
          continue next;
        } else if (text[i] === '*') {
          do {
            if (text[++i] === '\n') line++;
            if (i >= text.length) break next;
          } while (text[i] !== '*' || text[i + 1] !== '/');
          i += 2;
          continue;
        }
        if (text[i] === '=') i++;
        break;
      case '(': case ')': case '{': case '}': case '[': case ']': case ';': case ',': case '.':
        type = 'punctuator';
        break;
      default:
        if (isDigit(c)) {
          type = 'number';
          while (isDigit(text[i])) i++;
          if (text[i] === '.') do i++; while (isDigit(text[i]));
        } else if (isLetter(c)) {
          while (isLetter(text[i]) || isDigit(text[i])) i++;
          type = keywords.has(text.slice(start, i)) ? 'keyword' : 'name';
        } else {
          while ('=<>!+-*&|'.includes(text[i])) i++;
        }
    }
    tokens.push({ type, text: text.slice(start, i), line });
  }
  return tokens;
}

export default {
  name: 'lexer by characters',
  kind: 'loop',
  fn: lexCharacters,
  inputs: size => [program(size)],
  sizes: [0, 1, 20],
  benchSize: 3000
}
