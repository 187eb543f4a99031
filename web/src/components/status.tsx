const tones: Record<string, string> = {
  completed: 'text-good',
  delivered: 'text-good',
  active: 'text-good',
  confirmed: 'text-good',
  answered: 'text-good',
  connected: 'text-good',
  running: 'text-busy',
  processing: 'text-busy',
  retrying: 'text-warn',
  expiring: 'text-warn',
  waiting: 'text-warn',
  failed: 'text-bad',
  dead_lettered: 'text-bad',
  revoked: 'text-bad',
  auth_expired: 'text-bad',
};

/** A status as the API writes it, in lower case. The mark repeats the word as a color. */
export function Status({ value }: { value: string }) {
  const word = value.toLowerCase();
  return (
    <span className={`inline-flex items-center gap-1.5 whitespace-nowrap ${tones[word] ?? 'text-muted'}`}>
      <span
        aria-hidden="true"
        className={`size-2 shrink-0 rounded-full bg-current ${word === 'running' ? 'animate-pulse' : ''}`}
      />
      {word.replaceAll('_', ' ')}
    </span>
  );
}
