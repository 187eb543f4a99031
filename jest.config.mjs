if (!process.features.typescript) {
  throw new Error(
    `Node ${process.version} cannot run the tests: start them with "npm test", which uses the project's own Node 24.`,
  );
}

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: ['<rootDir>/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/machine/'],
  modulePathIgnorePatterns: ['<rootDir>/.atelier/'],
  transform: { '\\.ts$': '<rootDir>/jest.strip.mjs' },
  globalSetup: '<rootDir>/test/global-setup.ts',
  globalTeardown: '<rootDir>/test/global-teardown.ts',
  testTimeout: 60_000,
};
