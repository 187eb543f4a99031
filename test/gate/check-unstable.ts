import { tierOf } from './tiers.ts';
import { faultsOf, readUnstable } from './unstable.ts';

// A part of npm run check.

const today = new Date().toISOString().slice(0, 10);
const faults = faultsOf(readUnstable(), today, (file) => tierOf(file) === 'test:deep');
for (const fault of faults) console.error(`test/unstable.json: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;
