import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import type { ProductOptions } from '../product.ts';
import { runningServers } from '../servers.ts';
import { openScene, type Scene } from './oracle.ts';
import { ownTemporal } from './own-servers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Entry point of the processes, in each copy of the sources. */
const soonStopped = 'test/crash/soon-stopped.ts';

/**
 * The sources as they were before a change after which old histories cannot be continued by the new code.
 * @returns their entry point
 */
export function copyOfEarlierSources(folder: string): string {
  for (const part of ['src', 'api', 'workflows', 'activities', 'workers', 'migrations', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  for (const file of [soonStopped, 'test/crash/notice-within.ts']) cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'workflows/execute-run.ts');
  const source = readFileSync(file, 'utf8')
    .replace('  proxyLocalActivities,\n', '  proxyLocalActivities,\n  sleep,\n')
    .replace(/(export async function executeRun\(.*\{\n)/, '$1  await sleep(1);\n');
  if (!source.includes('sleep,') || !source.includes('await sleep(1)'))
    throw new Error('The sources were not changed.');
  writeFileSync(file, source);
  return join(folder, soonStopped);
}

/** A scene on a Temporal of its own, with a folder of its own for the bundles of workflow code. */
export interface VersionScene<Opened extends Scene = Scene> {
  scene: Opened;
  temporal: Awaited<ReturnType<typeof ownTemporal>>;
  folder: string;
  /** Versions whose bundle is in the folder, in order. */
  bundles(): string[];
  /** Puts the bundle of the present sources into the folder, which spares the next process building it again. */
  takeBuiltBundle(): void;
  close(): Promise<void>;
}

export const openVersionScene = (): Promise<VersionScene> => openVersionsOf(openScene);

/** The same for another kind of scene. */
export async function openVersionsOf<Opened extends Scene>(
  open: (options: ProductOptions) => Promise<Opened>,
): Promise<VersionScene<Opened>> {
  const temporal = await ownTemporal();
  const folder = mkdtempSync(join(runningServers().folder, 'versions-'));
  const directory = join(folder, 'bundles');
  const scene = await open({
    env: { TEMPORAL_ADDRESS: temporal.address, WORKFLOW_BUNDLE_DIR: directory },
    // Hundreds of runs on a busy machine take longer than what is soon noticed.
    entryPoint: join(root, soonStopped),
  });
  return {
    scene,
    temporal,
    folder,
    bundles: () =>
      readdirSync(directory)
        .sort()
        .map((name) => name.replace(/\.js$/, '')),
    takeBuiltBundle: () => cpSync(runningServers().bundles, directory, { recursive: true }),
    async close() {
      await scene.product.close();
      await temporal.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Build id of the worker version that each run, or whatever else has a workflow, belongs to. */
export async function versionsOf(
  temporalAddress: string,
  runIds: Iterable<string>,
  workflowIdOf = runWorkflowId,
): Promise<Record<string, string | null | undefined>> {
  const connection = await Connection.connect({ address: temporalAddress });
  const { workflow } = new Client({ connection });
  const versions: Record<string, string | null | undefined> = {};
  for (const runId of runIds) {
    const { raw } = await workflow.getHandle(workflowIdOf(runId)).describe();
    versions[runId] = raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  }
  await connection.close();
  return versions;
}
