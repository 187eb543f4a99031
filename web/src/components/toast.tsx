import { Toast } from '@base-ui/react/toast';

const manager = Toast.createToastManager();

/** Says briefly that something was done. Screen readers announce it. */
export const notify = (title: string): void => void manager.add({ title, timeout: 4_000 });

function List() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="mb-2 rounded-md border border-line bg-surface px-4 py-2 shadow-lg"
    >
      <Toast.Title className="m-0 text-sm font-medium" />
    </Toast.Root>
  ));
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 w-72">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}
