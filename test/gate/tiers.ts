/** Folders of the deep tier. `docs/development.md` says what belongs there. */
export const deepFolders = ['test/deep/', 'test/crash/', 'test/cost/', 'test/fuzz/', 'test/local-stack/'];

/** The npm scripts that run tests, and the options of Jest that select their files. Patterns precede them: some take a list. */
export const tiers = {
  'test:fast': ['--selectProjects', 'fast'],
  test: ['--selectProjects', 'fast', 'product'],
  'test:deep': ['--selectProjects', 'deep'],
  'test:machine': ['--config', 'test/machine/jest.config.mjs', '--runInBand'],
};

export type Tier = keyof typeof tiers;

/** @param file - relative to the root of the project */
export function tierOf(file: string): Tier {
  if (file.startsWith('test/machine/')) return 'test:machine';
  return deepFolders.some((folder) => file.startsWith(folder)) ? 'test:deep' : 'test';
}
