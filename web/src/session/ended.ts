import type { QueryClient } from '@tanstack/react-query';
import { signInAddress } from '../api/account.ts';
import { forgetDrafts } from '../components/draft.ts';

const windows = new BroadcastChannel('atelier.session');

/** Goes to the page on which people sign in. They come back to where they were. */
export const goToSignIn = (): void => location.replace(signInAddress(location.pathname + location.search));

/**
 * Leaves all windows of this browser after a person has signed out. Nothing of what they read or typed stays: the next one at
 * this computer may be another person. After a session that has only expired, drafts are there for the next sign-in.
 */
export function leaveAllWindows(queries: QueryClient): void {
  queries.clear();
  forgetDrafts();
  windows.postMessage('ended');
  location.assign(signInAddress('/app'));
}

/** Leaves this window when a person signs out in another one. */
export function leaveWhenEnded(): void {
  windows.addEventListener('message', () => {
    forgetDrafts();
    goToSignIn();
  });
}

/** Whether an error says that there is no session any more. */
export const isSignedOut = (error: unknown): boolean => (error as { status?: number } | null)?.status === 401;
