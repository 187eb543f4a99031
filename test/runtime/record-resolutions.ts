import { recordResolutions } from './resolutions.ts';

// Loaded by `node --import` before everything else.
recordResolutions();
