import { availableParallelism } from 'node:os';

if (!process.features.typescript) {
  throw new Error(
    `Node ${process.version} cannot run the tests: start them with "npm test", which uses the project's own Node 24.`,
  );
}

// After the check: older versions of Node cannot load it.
const { deepFolders } = await import('./test/gate/tiers.ts');

const ofEveryProject = {
  rootDir: import.meta.dirname,
  // What is imported is loaded once by each of Jest's workers instead of once for each file.
  runtime: '<rootDir>/test/runtime/runtime.ts',
  testEnvironment: '<rootDir>/test/runtime/environment.ts',
  extensionsToTreatAsEsm: ['.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.atelier/'],
  transform: { '\\.ts$': '<rootDir>/jest.strip.mjs' },
};

export const withServers = {
  ...ofEveryProject,
  globalSetup: '<rootDir>/test/global-setup.ts',
  globalTeardown: '<rootDir>/test/global-teardown.ts',
};

/** These start no process of the product and no server. */
const fast = ['<rootDir>/{src,api,bench,security}/**/*.test.ts', '<rootDir>/test/gate/*.test.ts'];

// Each test file belongs to a project by its folder, and to a tier by its project: docs/development.md.
export default {
  // Far more than anything takes alone: files share the machine.
  testTimeout: 180_000,
  // Each test of a file that runs them at once starts processes.
  maxConcurrency: 3,
  // What a file has loaded stays in its worker's memory.
  workerIdleMemoryLimit: '1GB',
  maxWorkers: availableParallelism(),
  testSequencer: '<rootDir>/test/sequencer.ts',
  projects: [
    { ...ofEveryProject, displayName: 'fast', testMatch: fast },
    {
      ...withServers,
      displayName: 'product',
      testMatch: ['<rootDir>/{test,local,workers,workflows}/**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        ...[...deepFolders, 'test/machine/', 'test/gate/'].map((folder) => `<rootDir>/${folder}`),
      ],
    },
    { ...withServers, displayName: 'deep', testMatch: deepFolders.map((folder) => `<rootDir>/${folder}**/*.test.ts`) },
  ],
};
