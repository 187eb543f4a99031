export const inputTypes = ['string', 'number', 'boolean', 'object', 'array'] as const;
type InputType = (typeof inputTypes)[number];

/** One declared input of a workflow. */
export interface InputDefinition {
  name: string;
  type: InputType;
  required: boolean;
  default?: unknown;
  description?: string | undefined;
}

function typeOf(value: unknown): InputType | 'null' {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as InputType;
}

interface InputProblem {
  path: string;
  message: string;
}

/**
 * The variables of a new run: those of the caller, and defaults for missing ones. Undeclared variables are kept.
 * Problems have paths of the form `inputs.<name>`.
 */
export function resolveInputs(
  definitions: readonly InputDefinition[],
  given: Record<string, unknown>,
): { variables: Record<string, unknown>; problems: InputProblem[] } {
  const defaults: [string, unknown][] = [];
  const problems: InputProblem[] = [];
  for (const { name, type, required, default: fallback } of definitions) {
    const path = `inputs.${name}`;
    if (Object.hasOwn(given, name)) {
      const actual = typeOf(given[name]);
      if (actual !== type) problems.push({ path, message: `Expected ${type}, got ${actual}.` });
    } else if (fallback !== undefined) {
      defaults.push([name, fallback]);
    } else if (required) {
      problems.push({ path, message: 'This input is required.' });
    }
  }
  // `Object.fromEntries` also sets a member called `__proto__`; an assignment would not.
  return { variables: Object.fromEntries([...Object.entries(given), ...defaults]), problems };
}

/** Problems of the definitions: duplicate names, defaults of another type. Paths are below `inputs`. */
export function findDefinitionProblems(definitions: readonly InputDefinition[]): InputProblem[] {
  const seen = new Set<string>();
  return definitions.flatMap(({ name, type, default: fallback }, index) => {
    const problems: InputProblem[] = [];
    if (seen.has(name)) problems.push({ path: `${index}.name`, message: `The name "${name}" is used twice.` });
    seen.add(name);
    if (fallback !== undefined && typeOf(fallback) !== type) {
      problems.push({ path: `${index}.default`, message: `Expected ${type}, got ${typeOf(fallback)}.` });
    }
    return problems;
  });
}
