import type { ReactNode } from 'react';
import { Problem } from './problem.tsx';
import type { Action } from './use-action.ts';

/** A form that does an action of a person when it is sent. Above its fields it shows why the action failed. */
export function ActionForm({ action, children }: { action: Action<[]>; children: ReactNode }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      {action.error !== undefined && <Problem error={action.error} />}
      {children}
    </form>
  );
}
