import type { ChatRequest, ChatTurn, ToolDeclaration } from './chat-ports.ts';
import type { JsonSchema } from './ports.ts';

const namesOf = (turn: ChatTurn): string[] => (turn.role === 'tools' ? turn.results.map(({ name }) => name) : []);

/**
 * The tools of a request. Providers refuse a conversation with calls that declares no tools, so those that were called are
 * declared by name when the model may not call any more.
 */
export function offeredTools({ tools = [], turns }: Pick<ChatRequest, 'tools' | 'turns'>): {
  tools: readonly ToolDeclaration[];
  mayCall: boolean;
} {
  if (tools.length > 0) return { tools, mayCall: true };
  const called = [...new Set(turns.flatMap(namesOf))];
  const declare = (name: string) => ({ name, description: 'Not available any more.', inputSchema: {} });
  return { tools: called.map(declare), mayCall: false };
}

/** The schema of a tool's arguments as all providers accept it: of an object, with properties, and without a dialect. */
export function argumentsSchema({ inputSchema }: ToolDeclaration): JsonSchema {
  const { $schema: _, $id: __, ...schema } = inputSchema;
  return { ...schema, type: 'object', properties: schema.properties ?? {} };
}
