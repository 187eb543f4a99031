import { type ToolServerId, type ToolServerName, toolServerIds } from './server-ids.ts';

/** What providers take as the name of a function. */
const maxNameLength = 64;

/**
 * The name under which a model sees a tool: `<server>_<tool>`, without the prefix of a source, and with `_` for every other
 * character than `[A-Za-z0-9_-]`.
 */
export const declaredName = (server: ToolServerName, tool: string): string =>
  `${server.slice(server.indexOf(':') + 1)}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, maxNameLength);

const sortedByLength = toolServerIds.toSorted((one, other) => other.length - one.length);

/** The server that a declared name belongs to: the longest id that is followed by `_`. */
export const serverOfName = (name: string): ToolServerId | undefined =>
  sortedByLength.find((server) => name.startsWith(`${server}_`));
