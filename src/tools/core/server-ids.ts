/** The published ids of tool servers, in the order in which they are listed. */
export const toolServerIds = [
  'postgres',
  'sqlite',
  'filesystem',
  'github',
  'slack',
  'notion',
  'web-search',
  'memory',
  'puppeteer',
  'docker',
  'aws',
  'google-drive',
] as const;

/** Servers that one request or step may name. */
export const maxServers = toolServerIds.length;

export type ToolServerId = (typeof toolServerIds)[number];

/** Tools that a feature brings, as `integration:slack`. */
export type SourceToolName = `${string}:${string}`;

/** What requests and steps name to offer tools to their model. */
export type ToolServerName = ToolServerId | SourceToolName;

export const isToolServerId = (text: string): text is ToolServerId =>
  (toolServerIds as readonly string[]).includes(text);

/** Whether a stored text is such a name. A name without a source offers no tools. */
export const isToolServerName = (text: string): text is ToolServerName => isToolServerId(text) || text.includes(':');
