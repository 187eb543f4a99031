import { Button } from './button.tsx';
import { Code } from './code.tsx';
import { Dialog } from './dialog.tsx';

/** Shows a secret that cannot be shown again. */
export function SecretOnce({
  title,
  secret,
  note,
  onClose,
}: {
  title: string;
  secret: string | undefined;
  note: string;
  onClose(): void;
}) {
  return (
    <Dialog title={title} description={note} isOpen={secret !== undefined} onClose={onClose} isKept>
      <Code label={title} text={secret ?? ''} />
      <div className="mt-4 flex justify-end">
        <Button look="primary" onClick={onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  );
}
