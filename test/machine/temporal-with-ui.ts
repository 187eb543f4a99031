import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../local/ports.ts';
import { findTemporalProgram } from '../../local/temporal/temporal-program.ts';
import { startTemporal } from '../../local/temporal/temporal-server.ts';
import { readLocalSettings } from '../../src/platform/env.ts';
import { runningServers } from '../servers.ts';

export interface TemporalWithUi {
  address: string;
  uiUrl: string;
  close(): Promise<void>;
}

/** A Temporal server of its own, because the one that the tests share has no web UI. */
export async function startTemporalWithUi(): Promise<TemporalWithUi> {
  const folder = mkdtempSync(join(runningServers().folder, 'ui-'));
  const temporal = await startTemporal({
    program: await findTemporalProgram({ settings: readLocalSettings(), log: () => {} }),
    databaseFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
    port: await findFreePort(),
    uiPort: await findFreePort(),
  });
  return {
    address: temporal.address,
    uiUrl: temporal.uiUrl!,
    async close() {
      await temporal.stop({ hasty: true });
      rmSync(folder, { recursive: true });
    },
  };
}
