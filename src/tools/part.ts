import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/parts/part.ts';
import { ToolConnections } from './connections.ts';
import { toolConfigurationIds } from './core/ids.ts';
import { toolServerIds } from './core/server-ids.ts';
import { toolsDeclarations } from './declarations.ts';
import { ToolConfiguration } from './entities.ts';
import { toolLimits } from './limits.ts';
import { connectionOpener } from './open-connection.ts';
import { toolSettings, toolsFolder } from './settings.ts';
import { ToolLocks } from './tool-locks.ts';
import { Tools } from './tools.ts';

export interface ToolServices {
  /** The tools that models may use. */
  tools: Tools;
  toolConnections: ToolConnections;
  toolLocks: ToolLocks;
}

/** Tool servers: the catalogue, what organizations configure, and calls. */
export const tools: Part<Foundation, ToolServices, typeof toolSettings.shape> = {
  ...toolsDeclarations,
  entities: [ToolConfiguration],
  rowBounds: { tool_configuration: { max: { rows: toolServerIds.length, of: 'environment' } } },
  settings: toolSettings,
  ids: [toolConfigurationIds],
  open({ env, log, egress, sealer }) {
    const open = connectionOpener({ folder: toolsFolder(env), egress });
    const connections = new ToolConnections({ open, limits: toolLimits, log });
    const locks = new ToolLocks(env.DATABASE_URL);
    return {
      tools: new Tools({ connections, locks, limits: toolLimits, log, egress, sealer }),
      toolConnections: connections,
      toolLocks: locks,
    };
  },
  async close({ toolConnections, toolLocks }) {
    await toolConnections.close();
    await toolLocks.close();
  },
};
