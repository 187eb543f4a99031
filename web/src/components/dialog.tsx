import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';

interface DialogProps {
  title: string;
  description?: ReactNode;
  isOpen: boolean;
  onClose(): void;
  children: ReactNode;
  isWide?: boolean;
  /** A click outside does not close it. */
  isKept?: boolean;
}

/** A modal dialog. Escape and a click outside close it; focus returns to its earlier place. */
export function Dialog({ title, description, isOpen, onClose, children, isWide = false, isKept = false }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()} disablePointerDismissal={isKept}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Base.Popup
          className={`fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[calc(100vw-1.5rem)] -translate-x-1/2 -translate-y-1/2 overflow-auto rounded-lg border border-line bg-surface p-5 shadow-xl ${isWide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <Base.Title className="m-0 text-lg font-semibold">{title}</Base.Title>
          {description && <Base.Description className="mt-1 text-muted">{description}</Base.Description>}
          <div className="mt-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
