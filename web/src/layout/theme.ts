export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'atelier.theme';

export const chosenTheme = (): Theme => (localStorage.getItem(storageKey) as Theme | null) ?? 'system';

/** Applies a theme, and keeps it for the next visit. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(storageKey, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
