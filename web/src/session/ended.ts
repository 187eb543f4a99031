import { signInAddress } from '../api/account.ts';

const windows = new BroadcastChannel('atelier.session');

/** Goes to the page on which people sign in. They come back to where they were. */
export const goToSignIn = (): void => location.replace(signInAddress(location.pathname + location.search));

/** Informs the other windows of this browser that its session has ended. */
export const announceEnd = (): void => windows.postMessage('ended');

/** Leaves this window when the session ends in another one. */
export const leaveWhenEnded = (): void => windows.addEventListener('message', goToSignIn);

/** Whether an error says that there is no session any more. */
export const isSignedOut = (error: unknown): boolean => (error as { status?: number } | null)?.status === 401;
