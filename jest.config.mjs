import { availableParallelism } from 'node:os';

if (!process.features.typescript) {
  throw new Error(
    `Node ${process.version} cannot run the tests: start them with "npm test", which uses the project's own Node 24.`,
  );
}

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

const crashing = ['test/crash/', 'test/local-stack/'];

export default {
  // Far more than anything takes alone: files share the machine.
  testTimeout: 180_000,
  // Each test of a file that runs them at once starts processes.
  maxConcurrency: 3,
  // What a file has loaded stays in its worker's memory.
  workerIdleMemoryLimit: '1GB',
  // Most files wait for half of their time, for a process to start or for a death to be noticed. Many more than there are
  // processors would only make each other late.
  maxWorkers: availableParallelism() + 2,
  testSequencer: '<rootDir>/test/sequencer.ts',
  reporters: ['<rootDir>/test/file-times.ts', 'default'],
  projects: [
    {
      // Beside the code: these start no process and no server.
      ...ofEveryProject,
      displayName: 'fast',
      testMatch: ['<rootDir>/{src,api,bench,security}/**/*.test.ts'],
    },
    {
      ...withServers,
      displayName: 'product',
      testMatch: ['<rootDir>/{test,local,workers,workflows}/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...crashing, '<rootDir>/test/machine/'],
    },
    {
      // Kill processes and servers and wait for others to notice.
      ...withServers,
      displayName: 'crash',
      testMatch: crashing.map((folder) => `<rootDir>/${folder}**/*.test.ts`),
    },
  ],
};
