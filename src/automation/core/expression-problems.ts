// The library's errors have codes; what their author reads are sentences of ours.
import { ExpressionError } from './expression-nodes.ts';

/** The part of a library error that is read. */
interface CelError {
  code: string;
  /** Its text, from which names and types are taken. */
  summary: string;
  range?: { start: number } | undefined;
}

const isCelError = (error: unknown): error is CelError => {
  const { code, summary } = (error ?? {}) as Partial<CelError>;
  return typeof code === 'string' && typeof summary === 'string';
};

const after = (text: string, mark: string): string => {
  const at = text.indexOf(mark);
  return at < 0 ? '' : text.slice(at + mark.length);
};
/** The text after the colon, or between the first and the last quotation mark. */
const named = ({ summary }: CelError): string => after(summary, ': ').slice(0, 100);
const quoted = ({ summary }: CelError): string => summary.slice(summary.indexOf("'") + 1, summary.lastIndexOf("'"));
const types = (text: string): string =>
  text.replaceAll('google.protobuf.Timestamp', 'timestamp').replaceAll('google.protobuf.Duration', 'duration');

const limits: Readonly<Record<string, string>> = {
  maxAstNodes: 'An expression may have 200 parts at most.',
  maxDepth: 'An expression may be nested 24 deep at most.',
  maxListElements: 'A list in an expression may have 100 elements at most.',
  maxMapEntries: 'A map in an expression may have 100 entries at most.',
  maxCallArguments: 'A function may have 8 arguments at most.',
};

const tokens: Readonly<Record<string, string>> = {
  RPAREN: ')',
  RBRACKET: ']',
  RBRACE: '}',
  COLON: ':',
};

const endsTooEarly = 'The expression ends too early.';
const mustBeTruth = 'A condition must be true or false.';
const otherType = 'A value has another type than the expression expects.';
const invalidNumber = 'A number is not written correctly.';
const invalidEscape = 'A text has an escape sequence that is not valid.';
const divisionByZero = 'A number is divided by zero.';
const notOptional = 'An optional value is expected.';

const sentences: Readonly<Record<string, string | ((error: CelError, variables: readonly string[]) => string)>> = {
  unknown_variable: (error, variables) =>
    `There is no variable ${named(error)}. An expression can use ${variables.slice(0, -1).join(', ')} and ${variables.at(-1)}.`,
  no_such_key: (error) => `There is no member ${named(error)}.`,
  index_out_of_bounds: 'A list has no element at this index.',
  index_out_of_range: 'There is nothing at this index.',
  invalid_index_type: 'The elements of a list are numbered.',
  cannot_index_type: 'This value has no members.',
  no_such_overload: (error) => `The operator does not take values of these types: ${types(named(error))}.`,
  no_matching_overload: (error) => `There is no function ${types(quoted(error))}.`,
  invalid_condition_type: mustBeTruth,
  invalid_logical_operand: 'The operands of && and || must be true or false.',
  incompatible_ternary_branches: 'Both results of a choice must have the same type, unless one is wrapped in dyn().',
  invalid_comprehension_range: 'A loop goes over a list or a map.',
  invalid_macro_argument: (error) =>
    `The arguments of ${/^[A-Za-z_.]{1,40}\(/.exec(error.summary)?.[0] ?? 'a function ('}) are not valid.`,
  invalid_comparison_type: 'These values cannot be compared.',
  numeric_overflow: 'A number is too large.',
  division_by_zero: divisionByZero,
  modulo_by_zero: divisionByZero,
  int_conversion_error: 'A value cannot be converted to int.',
  uint_conversion_error: 'A value cannot be converted to uint.',
  double_conversion_error: 'A value cannot be converted to double.',
  bool_conversion_error: 'A value cannot be converted to bool.',
  invalid_timestamp: 'A timestamp is written like timestamp("2026-01-31T09:30:00Z").',
  invalid_duration: 'A duration is written like duration("1h30m").',
  optional_value_missing: 'An optional value is absent. Use orValue() to give a default.',
  optional_expected: notOptional,
  invalid_optional_argument: notOptional,
  variable_type_mismatch: otherType,
  field_type_mismatch: otherType,
  list_item_type_mismatch: otherType,
  invalid_list_element_type: otherType,
  incompatible_argument_type: otherType,
  unsupported_type: otherType,
  limit_exceeded: (error) =>
    Object.entries(limits).find(([name]) => error.summary.includes(name))?.[1] ?? 'The expression is too large.',
  reserved_identifier: (error) => `The word ${named(error)} is reserved.`,
  unexpected_character: (error) => `The character ${named(error).replaceAll("'", '')} does not belong there.`,
  unexpected_token: (error) => (error.summary.endsWith('EOF') ? endsTooEarly : 'A value is expected.'),
  expected_token: (error) => {
    const token = tokens[/^Expected ([A-Z]+)/.exec(error.summary)?.[1] ?? ''];
    if (token !== undefined) return `A "${token}" is expected.`;
    return error.summary.endsWith('EOF') ? endsTooEarly : 'Something else is expected.';
  },
  unterminated_string: 'A text is not closed.',
  unterminated_triple_quoted_string: 'A text is not closed.',
  newline_in_string: 'A text between single quotation marks has a line break.',
  invalid_number: invalidNumber,
  invalid_integer: invalidNumber,
  invalid_hex_integer: invalidNumber,
  invalid_exponent: invalidNumber,
  invalid_escape_sequence: invalidEscape,
  invalid_unicode_escape: invalidEscape,
  invalid_unicode_surrogate: invalidEscape,
  invalid_hex_escape: invalidEscape,
  invalid_octal_escape: invalidEscape,
  octal_escape_out_of_range: invalidEscape,
  bytes_unicode_escape: invalidEscape,
};

/** Where in the source, counted as its author counts. */
function placeOf({ range }: CelError, source: string): string {
  if (range === undefined || source.length === 0) return '';
  return ` (Character ${[...source.slice(0, range.start)].length + 1}.)`;
}

/**
 * Why an expression is not valid, or could not be evaluated.
 * @param otherwise the sentence for an error that has no code of its own
 * @param variables the names that the expression can use
 */
export function problemOf(
  error: unknown,
  source: string,
  otherwise: string,
  variables: readonly string[],
): ExpressionError {
  if (error instanceof ExpressionError) return error;
  if (!isCelError(error)) return new ExpressionError(otherwise);
  const sentence = Object.hasOwn(sentences, error.code) ? sentences[error.code] : undefined;
  const text = typeof sentence === 'function' ? sentence(error, variables) : (sentence ?? otherwise);
  return new ExpressionError(text + placeOf(error, source));
}
