import { isJsonObject } from '../../platform/core/json-shapes.ts';
import type { JsonSchema } from '../ports.ts';
import type { ChatMessage, ChatRequest, ToolDeclaration } from './chat-ports.ts';

const namesOf = (message: ChatMessage): string[] =>
  message.role === 'tools' ? message.results.map(({ name }) => name) : [];

/**
 * The tools of a request. Providers refuse a conversation with calls that declares no tools, so the called tools are
 * declared by name when the model may no longer call any.
 */
export function offeredTools({ tools = [], messages }: Pick<ChatRequest, 'tools' | 'messages'>): {
  tools: readonly ToolDeclaration[];
  mayCall: boolean;
} {
  if (tools.length > 0) return { tools, mayCall: true };
  const called = [...new Set(messages.flatMap(namesOf))];
  const declare = (name: string) => ({ name, description: 'Not available any more.', inputSchema: {} });
  return { tools: called.map(declare), mayCall: false };
}

/** Tools with generated schemas often have them as a definition, and nothing else at the top. */
function atTheTop({ $ref, ...schema }: JsonSchema): JsonSchema {
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String($ref)) ?? [];
  const definitions = place && schema[place];
  const named = isJsonObject(definitions) && Object.hasOwn(definitions, name!) ? definitions[name!] : undefined;
  return isJsonObject(named) ? { ...schema, ...named } : schema;
}

/**
 * The schema of a tool's arguments in a form that all providers accept: of an object, with properties, without a
 * dialect, and without alternatives at its top, because of which some providers refuse the whole request. The tool
 * itself checks its arguments.
 */
export function argumentsSchema({ inputSchema }: ToolDeclaration): JsonSchema {
  const refused = ['$schema', '$id', '$ref', 'oneOf', 'anyOf', 'allOf', 'not', 'enum', 'const'];
  const kept = Object.entries(atTheTop(inputSchema)).filter(([name]) => !refused.includes(name));
  const schema = Object.fromEntries(kept);
  return { ...schema, type: 'object', properties: isJsonObject(schema.properties) ? schema.properties : {} };
}
