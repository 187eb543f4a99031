import { readFileSync } from 'node:fs';
import { useResolutions } from './resolutions.ts';

// Loaded by `node --import` before everything else, with the file in the query of its URL.
useResolutions(JSON.parse(readFileSync(new URL(import.meta.url).searchParams.get('file')!, 'utf8')));
