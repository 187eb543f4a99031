import type { ToolServerId } from './core/server-ids.ts';
import { aws, github, googleDrive, notion, slack } from './servers/hosted.ts';
import { filesystem, memory, sqlite } from './servers/local.ts';
import { docker, puppeteer } from './servers/own-address.ts';
import { postgres, webSearch } from './servers/own-clients.ts';
import type { ToolServer } from './servers/server.ts';

/** Every tool server that there is: organizations supply values, never commands. */
export const catalogue: Readonly<Record<ToolServerId, ToolServer>> = {
  postgres,
  sqlite,
  filesystem,
  github,
  slack,
  notion,
  'web-search': webSearch,
  memory,
  puppeteer,
  docker,
  aws,
  'google-drive': googleDrive,
};
