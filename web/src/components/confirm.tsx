import { useState } from 'react';
import { type ExampleRequest, exampleOf } from '../api/example.ts';
import { useSession } from '../session/context.tsx';
import { Button, type ButtonProps } from './button.tsx';
import { RequestExample } from './code.tsx';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';
import { useAction } from './use-action.ts';

interface ConfirmButtonProps extends Omit<ButtonProps, 'onClick'> {
  question: string;
  /** What happens, and whether it can be undone. */
  consequence: string;
  confirmLabel: string;
  /** The same action for programs; absent if only people may perform it. */
  request?: ExampleRequest;
  onConfirm(): Promise<unknown>;
}

/** A button that asks before it acts. The dialog stays open, with the error, when the action fails. */
export function ConfirmButton({
  question,
  consequence,
  confirmLabel,
  request,
  onConfirm,
  ...button
}: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const action = useAction(onConfirm);
  const { environment } = useSession();
  const confirm = async () => {
    if (await action.run()) setOpen(false);
  };
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      <Dialog title={question} description={consequence} isOpen={isOpen} onClose={() => setOpen(false)}>
        {action.error !== undefined && <Problem error={action.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button look={button.look === 'danger' ? 'danger' : 'primary'} isBusy={action.isBusy} onClick={confirm}>
            {confirmLabel}
          </Button>
        </div>
        {request && <RequestExample {...exampleOf(request, environment)} />}
      </Dialog>
    </>
  );
}
