// Runs in a process of the pool.
import { stringify } from 'yaml';

export const perform = (value: unknown): string => stringify(value, { version: '1.2', aliasDuplicateObjects: false });
