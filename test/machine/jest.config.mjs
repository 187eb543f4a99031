import { withServers } from '../../jest.config.mjs';

export default { ...withServers, testMatch: ['<rootDir>/test/machine/**/*.test.ts'], testTimeout: 180_000 };
