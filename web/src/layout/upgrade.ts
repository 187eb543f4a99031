const storageKey = 'atelier.reloaded';

/**
 * An open page may need a file that an upgrade of the installation has removed. Then the page is loaded again, once. What
 * was typed is kept by `useDraft`.
 */
export function reloadOnceAfterUpgrade(): void {
  window.addEventListener('vite:preloadError', (event) => {
    if (sessionStorage.getItem(storageKey) === location.href) return;
    sessionStorage.setItem(storageKey, location.href);
    event.preventDefault();
    location.reload();
  });
}
