import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useSession } from '../../session/context.tsx';
import { goToSignIn, isSignedOut } from '../../session/ended.ts';
import type { RunEvent } from './timeline.ts';

/** At most so often is the run read again while its events arrive. */
const refreshMs = 500;

/**
 * The events of a run, from its beginning and as they happen. Each one has the run's record read again.
 * @returns the events so far, and what ended the stream before the run did
 */
export function useRunEvents(runId: string): { events: RunEvent[]; error: unknown } {
  const { api, key } = useSession();
  const queries = useQueryClient();
  const [events, setEvents] = useState<RunEvent[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const abort = new AbortController();
    let refresh: ReturnType<typeof setTimeout> | undefined;
    const follow = async () => {
      setEvents([]);
      setError(undefined);
      for await (const event of api.runs.events(runId, undefined, { signal: abort.signal })) {
        setEvents((before) => [...before, { ...(event.data as Omit<RunEvent, 'type'>), type: event.event }]);
        refresh ??= setTimeout(() => {
          refresh = undefined;
          void queries.invalidateQueries({ queryKey: key('run', runId) });
        }, refreshMs);
      }
    };
    follow().catch((thrown) => {
      if (abort.signal.aborted) return;
      if (isSignedOut(thrown)) goToSignIn();
      else setError(thrown);
    });
    return () => {
      clearTimeout(refresh);
      abort.abort();
    };
  }, [api, runId]);
  return { events, error };
}
