/**
 * Loads a part of a page. An open page may need a file that an upgrade of the installation has removed: then the page
 * is reloaded, once for each file. Routes do the same by themselves. `useDraft` keeps typed values.
 */
export const neededPart =
  <Part>(load: () => Promise<Part>) =>
  (): Promise<Part> =>
    load().catch((error: unknown) => {
      const storageKey = `atelier.reloaded ${error instanceof Error ? error.message : ''}`;
      if (sessionStorage.getItem(storageKey) !== null) throw error;
      sessionStorage.setItem(storageKey, '');
      location.reload();
      return new Promise<never>(() => {});
    });
