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

export const isToolServerId = (text: string): text is ToolServerId =>
  (toolServerIds as readonly string[]).includes(text);
