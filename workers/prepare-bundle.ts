import { prepareBundle } from './bundle.ts';

const directory = process.argv[2];
if (!directory) throw new Error('Usage: node workers/prepare-bundle.ts FOLDER');

const { version, path } = await prepareBundle(directory);
console.log(`${version} ${path}`);
