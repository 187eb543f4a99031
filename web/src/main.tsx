import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isOutage } from './api/outage.ts';
import { Toasts } from './components/toast.tsx';
import { applyTheme, chosenTheme } from './layout/theme.ts';
import { router } from './router.tsx';
import { goToSignIn, isSignedOut, leaveWhenEnded } from './session/ended.ts';
import './styles.css';

applyTheme(chosenTheme());
leaveWhenEnded();

const queries = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => isSignedOut(error) && goToSignIn() }),
  defaultOptions: {
    queries: {
      // The client of the API repeats requests where that is safe.
      retry: false,
      staleTime: 2_000,
      // A page that could not be read is there by itself again, soon after the service is.
      refetchInterval: ({ state }) => (state.status === 'error' && isOutage(state.error) ? 5_000 : false),
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
