import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLocalSettings } from '../src/platform/env.ts';

/** The servers that every test file of one run shares. */
export interface Servers {
  /** Holds every file of the run; removed when the run ends, with whatever process still belongs to it. */
  folder: string;
  /** The URL of the database `postgres`, from which others are created. */
  adminUrl: string;
  /** A migrated database that is cloned for each test file. */
  template: string;
  temporalAddress: string;
  bundles: string;
  /** Where a test file asks for a product that it shares with others. */
  sharedProductsUrl: string;
}

/** Names the folder of the run, to the workers of Jest and to everything that they start. */
export const folderVariable = 'ATELIER_TEST_RUN';

/** Compiled code of every process that the tests start, kept from run to run. */
export const compileCache = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));

/**
 * Options of every Temporal server that tests start. Its data survives its own death, though not a power cut. Its garbage
 * collector, which is a fifth of its work, may take more memory.
 */
export const temporalOfTests = { durable: false, env: { GOGC: '400' } };

/** The same of a PostgreSQL server: only a power cut could distinguish it from a careful one. */
export const postgresOfTests = { fsync: 'off', full_page_writes: 'off' };

/**
 * Options of V8 for every process of the product that tests start. Most of their life they wait. After eight seconds of it V8
 * would go through all of their memory for what it can give back, which costs a fifth of what a start does. Code that was
 * compiled without these options is used with them too.
 */
export const optionsOfTests = ['--no-memory-reducer'];

export const serversFile = (folder: string) => join(folder, 'servers.json');

/** The folder for temporary files of the product's processes. */
export const temporaryFolder = (folder: string) => join(folder, 'tmp');

/** Which file each import stands for, written once by the process that owns the servers. */
export const resolutionsFile = (folder: string) => join(folder, 'resolutions.json');

let known: Servers | undefined;

export function runningServers(): Servers {
  known ??= readServers();
  return known;
}

function readServers(): Servers {
  const folder = readLocalSettings().parentEnvironment[folderVariable];
  if (!folder) throw new Error('The test servers are not running: start tests with "npm test".');
  return JSON.parse(readFileSync(serversFile(folder), 'utf8'));
}
