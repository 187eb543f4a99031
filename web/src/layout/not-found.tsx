import { Link } from '@tanstack/react-router';
import { Page } from '../components/page.tsx';

export function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        Nothing exists at this address. <Link to="/runs">Go to the runs</Link>
      </p>
    </Page>
  );
}
